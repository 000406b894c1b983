import { pdf, pdfOf, png, filePartOf } from '../support/sample-files.ts'
import { checkTerminal, readToEnd } from './chat-ends.ts'
import { denseText, plainScript, someWords } from './model-answers.ts'
import { open, peopleOf, prepare, prepareRich, sessionsOf, textOf, withTools } from './model-chats.ts'
import type { SimRandom } from './sim-random.ts'
import type { ExpectedTurn } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'

/**
 * Sends a message with files. The provider may count any number of tokens for them: a document may use up the rest of
 * the context. If the balance does not cover that, the chat must be rejected or cut off, and nothing written off.
 */
export async function fileChatStep(world: SimWorld): Promise<number> {
  const { checks, random } = world
  const { poor } = peopleOf(world)
  const isRich = random.chance(0.4)
  if (!isRich) await prepare(world, poor, { chats: 1, free: random.between(300, 9000) })
  const person = isRich ? await prepareRich(world, 1) : poor
  const [session] = await sessionsOf(world, { count: 1, agentId: 'reader', person })
  const { density, text } = denseText(random, random.pick([20, 400, 3000]))
  const last = plainScript(random, { density, documents: random.pick([0.02, 0.5, 0.95]) })
  const scripts = withTools(world, { density, last }).map((script) => ({ ...script, documents: last.documents! }))
  const outcomes: ExpectedTurn['outcomes'] = isRich ? ['finished'] : ['finished', 'truncated', 'failed']
  const expected = { outcomes, ...(isRich && { text: textOf(scripts) }) }
  const files = drawFiles(random)
  const { reader } = await open(world, { session: session!, scripts, text, files, expected })
  const statuses = isRich ? [200] : [200, 403]
  checks.that(statuses.includes(reader.status), `a chat with ${files.length} files got ${reader.status}`)
  if (reader.status !== 200) {
    await reader.all()
    return 1
  }
  checkTerminal(world, session!, await readToEnd(world, reader))
  world.checkSessionRow(session!.id)
  return 1
}

function drawFiles(random: SimRandom): object[] {
  const kinds = {
    image: () => filePartOf(png(random.between(1, 64), random.between(1, 64)), { mediaType: 'image/png' }),
    bare: () => filePartOf(pdf, { mediaType: 'application/pdf', filename: 'bare.pdf' }),
    pages: () => filePartOf(pdfOf(random.between(1, 2)), { mediaType: 'application/pdf', filename: 'pages.pdf' }),
    text: () => filePartOf(someWords(random, 60).join(''), { mediaType: 'text/plain', filename: 'words.txt' }),
  }
  const names = Object.keys(kinds) as (keyof typeof kinds)[]
  return Array.from({ length: random.between(1, 3) }, () => kinds[random.pick(names)]())
}
