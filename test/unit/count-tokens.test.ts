import { expect, test } from 'vitest'
import { TokenCount, UncountedText } from '../../server/agents/run/count-tokens.ts'

test('counting tokens later gives the same result as counting while streaming', async () => {
  const count = await TokenCount.create()
  for (const { sentences, times } of [
    { sentences: 300, times: 3 },
    { sentences: 300, times: 300 },
    { sentences: 1, times: 600 },
  ]) {
    const [direct, later, text] = [count.anew(), count.anew(), new UncountedText()]
    const piece = 'Some words of a reply. '.repeat(sentences)
    for (let n = 0; n < times; n++) {
      direct.add(piece)
      text.add(piece)
    }
    text.addTo(later)
    expect(later.tokens).toBe(direct.tokens)
  }
})
