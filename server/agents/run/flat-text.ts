/**
 * A string built by many small appends. V8 stores concatenated strings as a tree until code reads a character, and each
 * garbage collection copies the complete tree. This class flattens each appended string once, between bursts.
 */
export class FlatText {
  #flat = ''
  #added = ''

  get isEmpty(): boolean {
    return this.#added === '' && this.#flat === ''
  }

  add(text: string): void {
    this.#added += text
  }

  flatten(): void {
    if (this.#added === '') return
    this.#flat += flattened(this.#added)
    this.#added = ''
  }

  take(): string {
    const text = this.#flat + this.#added
    this.#flat = ''
    this.#added = ''
    return text
  }
}

function flattened(text: string): string {
  // Reading a character makes V8 flatten the string. Use the result, because the compiler would remove an unused read.
  return text.charCodeAt(0) === 0 ? text.slice() : text
}
