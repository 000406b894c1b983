import { expect, test } from 'vitest'
import { TokenCount, UncountedText } from '../../server/agents/run/count-tokens.ts'

test('a text that is counted later has the tokens of one that is counted as it comes, however long it is', async () => {
  const count = await TokenCount.create()
  for (const times of [3, 300]) {
    const [direct, later, text] = [count.anew(), count.anew(), new UncountedText()]
    const piece = 'Some words of a reply. '.repeat(300)
    for (let n = 0; n < times; n++) {
      direct.add(piece)
      text.add(piece)
    }
    text.addTo(later)
    expect(later.tokens).toBe(direct.tokens)
  }
})
