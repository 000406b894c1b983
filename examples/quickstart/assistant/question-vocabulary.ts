import { stopWordsOf } from '../stop-words.ts'
import { singular } from './question-words.ts'

/** What the words of a question ask for. `most` and `fewest` rank, and add up what they rank by. */
export type Asked = 'sum' | 'average' | 'median' | 'min' | 'max' | 'count' | 'distinct' | 'most' | 'fewest' | 'rows'

const askedWords: Readonly<Record<Asked, string>> = {
  sum: 'sum total altogether overall much',
  average: 'average avg mean',
  median: 'median',
  min: 'min minimum lowest smallest least cheapest earliest shortest oldest bottom worst',
  max: 'max maximum highest largest biggest greatest latest longest newest top best expensive',
  count: 'count many number',
  distinct: 'distinct unique different',
  most: 'most',
  fewest: 'fewest',
  rows: 'show list rows print display',
}

const asked = new Map<string, Asked>()
for (const [meaning, words] of Object.entries(askedWords)) {
  for (const word of words.split(' ')) asked.set(singular(word), meaning as Asked)
}

export const groupWords: ReadonlySet<string> = new Set('by per each every across'.split(' '))

/** Words about the table itself or the asking, which say nothing about columns and values. */
const idle = new Set(
  (
    'table data dataset csv file spreadsheet row record entry line column value figure amount-of cell please thank ' +
    'calculate compute add up find give tell get me show what which who when where how is are was were do does did ' +
    'the a an of in for to and or with have has had all any every each by per it its this that these those my our your ' +
    'there here you can could would i we us so then now also about from on at as be been than across only just more ' +
    'common frequent often occur appear make come group grouped broken split down answer question hi hello ' +
    'excluding exclude except without between until till placed recorded listed included contain contained present exist sell work live belong ' +
    'same if whose their them they together grand over entire whole want know need like'
  )
    .split(' ')
    .map(singular),
)

const english = stopWordsOf('en')

export function askedBy(key: string): Asked | undefined {
  return asked.get(key)
}

/** Whether a word is one of the assistant's own rather than of somebody's table. */
export function isVocabulary(key: string): boolean {
  return asked.has(key) || groupWords.has(key) || idle.has(key) || english.has(key) || timeSpanOf(key) !== undefined
}

const weighty = new Set(
  (
    'not no never nor other than without except excluding exclude first second third last next previous over above under ' +
    'below more less fewer least before after since until till between only'
  ).split(' '),
)

/** Words that change what is asked: a question in which one of them is left over must not be answered as if it were not. */
export function isWeighty(key: string): boolean {
  return weighty.has(key)
}

export function timeSpanOf(key: string): 'year' | 'month' | 'day' | undefined {
  return key === 'year' || key === 'month' || key === 'day' ? key : undefined
}
