// The package `stopword` has no types. Its word lists are named by ISO 639-3 language codes.
declare module 'stopword' {
  const lists: { readonly [name: string]: readonly string[] }
  export default lists
}
