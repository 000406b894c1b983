// The package `stopword` ships no types; its lists of words are named by ISO 639-3 codes of languages.
declare module 'stopword' {
  const lists: { readonly [name: string]: readonly string[] }
  export default lists
}
