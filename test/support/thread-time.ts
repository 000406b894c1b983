/** Returns the CPU milliseconds of this thread. Unlike wall time, other processes do not affect them. */
export function threadMs(): number {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1000
}
