/** Milliseconds of processor time that this thread has used. Unlike the clock's, they are not those of other processes. */
export function threadMs(): number {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1000
}
