import lists from 'stopword'

/** Writing systems in which the text of a language is recognized. */
export type Script =
  | 'Arabic'
  | 'Armenian'
  | 'Bengali'
  | 'Cyrillic'
  | 'Devanagari'
  | 'Greek'
  | 'Gujarati'
  | 'Gurmukhi'
  | 'Han'
  | 'Hangul'
  | 'Hebrew'
  | 'Kana'
  | 'Latin'
  | 'Myanmar'
  | 'Thai'

/** Languages by script: the BCP 47 tag and the names of their lists in the package `stopword`. */
const listNames: { readonly [script in Script]: { readonly [language: string]: readonly string[] } } = {
  Arabic: { ar: ['ara'], fa: ['fas'], ur: ['urd'] },
  Armenian: { hy: ['hye'] },
  Bengali: { bn: ['ben'] },
  Cyrillic: { bg: ['bul'], ru: ['rus'], uk: ['ukr'] },
  Devanagari: { hi: ['hin'], mr: ['mar'] },
  Greek: { el: ['ell'] },
  Gujarati: { gu: ['guj'] },
  Gurmukhi: { pa: ['panGu'] },
  Han: { zh: ['zho'] },
  Hangul: { ko: ['kor'] },
  Hebrew: { he: ['heb'] },
  Kana: { ja: ['jpn'] },
  Latin: {
    af: ['afr'],
    ca: ['cat'],
    cs: ['ces'],
    da: ['dan'],
    de: ['deu'],
    en: ['eng'],
    eo: ['epo'],
    es: ['spa'],
    et: ['est'],
    eu: ['eus'],
    fi: ['fin'],
    fr: ['fra'],
    ga: ['gle'],
    gl: ['glg'],
    hr: ['hrv'],
    hu: ['hun'],
    id: ['ind'],
    it: ['ita'],
    la: ['lat'],
    lt: ['lit'],
    lv: ['lav'],
    ms: ['msa'],
    nb: ['nob'],
    nl: ['nld'],
    pl: ['pol'],
    pt: ['por', 'porBr'],
    ro: ['ron'],
    sk: ['slk'],
    sl: ['slv'],
    sv: ['swe'],
    sw: ['swa'],
    tl: ['tgl'],
    tr: ['tur'],
    vi: ['vie'],
  },
  Myanmar: { my: ['mya'] },
  Thai: { th: ['tha'] },
}

// The package's English list is short; these function words would otherwise rank as keywords.
const moreEnglish =
  'above across again against although among below cannot did do does doing done down during either else ere every few ' +
  'however if its itself just less may me mine neither nor no not nothing off once onto ours own per rather shall she ' +
  'so something than thee therefore these they thine this thou though thus thy till toward towards unless until upon ' +
  'us was were whatever when whence whenever wherever whereas whether whom whose why will within without ye yes yet ' +
  'called good great known made new said thing things time times way ways one two three first second third last ' +
  'yours yourself themselves ourselves myself herself even ever here there perhaps quite too several'

const cache = new Map<string, ReadonlySet<string>>()

/** The languages known in a script, as BCP 47 tags. */
export function languagesOf(script: Script): readonly string[] {
  return Object.keys(listNames[script])
}

/** The stop words of a language in lower case; none for a language without a list. */
export function stopWordsOf(language: string): ReadonlySet<string> {
  let words = cache.get(language)
  if (words === undefined) {
    const names = Object.values(listNames).flatMap((languages) => languages[language] ?? [])
    words = new Set(names.flatMap((name) => lists[name] ?? []).map((word) => word.toLowerCase()))
    if (language === 'en') words = new Set([...words, ...moreEnglish.split(' ')])
    cache.set(language, words)
  }
  return words
}
