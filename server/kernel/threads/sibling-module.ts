/**
 * Returns the URL of a module in the caller's folder, for use as a thread's entry point. The module is a `.ts` file in
 * the repository and a `.js` file in the package. The extension comes from the caller's URL, because compilers do not
 * change extensions in strings.
 */
export function siblingModule(callerUrl: string, name: string): URL {
  return new URL(`./${name}${callerUrl.slice(callerUrl.lastIndexOf('.'))}`, callerUrl)
}
