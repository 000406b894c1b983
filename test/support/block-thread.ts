const cell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

/** Holds up the thread as a computation would, and leaves its processor to the other tests. */
export function blockThread(ms = Infinity): void {
  Atomics.wait(cell, 0, 0, ms)
}
