/**
 * Returns the URL of a module beside the caller's own, for a thread's entry point. The module is a `.ts` file when run
 * from source and a `.js` file in the published package. Compilers do not rewrite such a name inside a string.
 */
export function siblingModule(callerUrl: string, name: string): URL {
  return new URL(`./${name}${callerUrl.slice(callerUrl.lastIndexOf('.'))}`, callerUrl)
}
