import { expect, test } from 'vitest'
import { TokenCount, UncountedText } from '../../server/agents/run/count-tokens.ts'

test('counting tokens later gives the same result as counting while streaming', async () => {
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
