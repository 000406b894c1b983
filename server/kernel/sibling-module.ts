/**
 * The address of a module beside the caller's own, for a thread's entry point: a `.ts` file when run from source and a
 * `.js` file in the published package, which no compiler would rewrite inside a string.
 */
export function siblingModule(callerUrl: string, name: string): URL {
  return new URL(`./${name}${callerUrl.slice(callerUrl.lastIndexOf('.'))}`, callerUrl)
}
