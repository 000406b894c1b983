import { checkOut, thisCheckout } from './checkout.ts'
import { compare, formatComparison, groupsOf, type Compared } from './compare.ts'

type BenchAgainst = { isQuick: boolean; only: string | undefined; userCount: number }

/**
 * Runs this checkout and `commit` alternately and prints the ratios. A ratio above 1 means that this checkout is
 * better.
 */
export async function benchAgainst(commit: string, { isQuick, only, userCount }: BenchAgainst): Promise<void> {
  const groups = groupsOf({ isQuick })
  const names = only === undefined ? Object.keys(groups) : only.split(',')
  const unknown = names.find((name) => !groups[name])
  if (unknown !== undefined) throw new Error(`No group is called ${unknown}. Use ${Object.keys(groups).join(', ')}.`)
  const base = checkOut(commit, userCount)
  try {
    const own = thisCheckout(userCount)
    try {
      const rows: Compared[] = []
      for (const name of names) {
        process.stderr.write(`${name}…\n`)
        rows.push(await compare(groups[name]!, { own, base }))
      }
      process.stdout.write(`${formatComparison(rows)}\n`)
    } finally {
      own.remove()
    }
  } finally {
    base.remove()
  }
}
