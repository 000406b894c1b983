import type { Answer, Op } from './command.ts'

export async function resultOf<Value>(of: Op<Value> | Answer<Value>): Promise<Value> {
  return await toEnd(of[Symbol.iterator]())
}

/** Drives a command or read that has already started until it completes. */
export async function toEnd<Value>(op: Iterator<unknown, Value, unknown>): Promise<Value> {
  let step = op.next()
  while (!step.done) {
    let answer: unknown
    try {
      answer = await step.value
    } catch (error) {
      if (!op.throw) throw error
      step = op.throw(error)
      continue
    }
    step = op.next(answer)
  }
  return step.value
}
