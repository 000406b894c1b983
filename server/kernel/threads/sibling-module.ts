/**
 * Returns the URL of a module in the caller's folder, for a thread's entry point. The module is a `.ts` file when run
 * from source and a `.js` file in the published package. Compilers do not change extensions in strings, so the
 * extension is taken from the caller's URL.
 */
export function siblingModule(callerUrl: string, name: string): URL {
  return new URL(`./${name}${callerUrl.slice(callerUrl.lastIndexOf('.'))}`, callerUrl)
}
