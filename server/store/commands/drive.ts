import type { Answer, Op } from './command.ts'

/** What an operation returns, or what was asked for, when each answer has come. */
export async function resultOf<Value>(of: Op<Value> | Answer<Value>): Promise<Value> {
  return await toEnd(of[Symbol.iterator]())
}

/** The rest of one that has begun. */
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
