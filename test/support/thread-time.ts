/** Returns the CPU milliseconds of this thread. Unlike wall time, they do not depend on other processes. */
export function threadMs(): number {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1000
}
