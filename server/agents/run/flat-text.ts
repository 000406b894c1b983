/**
 * Text that grows by small strings. V8 stores a concatenated string as a tree of its parts until code reads one of its
 * characters. Each garbage collection copies the complete tree. So the new parts are flattened between bursts, each
 * part only once.
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
  // Reading a character flattens the string. If the result were unused, the compiler would remove the read.
  return text.charCodeAt(0) === 0 ? text.slice() : text
}
