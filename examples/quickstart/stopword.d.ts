// The package `stopword` ships no types; these are the parts of it that the quickstart uses.
declare module 'stopword' {
  const lists: { readonly [name: string]: readonly string[] }
  export default lists
}
