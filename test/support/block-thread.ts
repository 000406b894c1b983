const cell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

/** Blocks the thread like a computation, but leaves the CPU to other tests. */
export function blockThread(ms = Infinity): void {
  Atomics.wait(cell, 0, 0, ms)
}
