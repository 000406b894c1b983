import { afterEach, expect, test, vi } from 'vitest'
import { wakesAtOnce } from '../../server/tasks/progress-rounds.ts'
import { TaskEnds, type TaskWait } from '../../server/tasks/task-ends.ts'

afterEach(() => void vi.useRealTimers())

/** Starts followers of one task, and counts how often each was woken. */
function startFollowers(ends: TaskEnds, count: number) {
  const woken: number[] = Array(count).fill(0)
  const follow = async (wait: TaskWait, at: number) => {
    for (;;) {
      await wait.change()
      if (wait.isOver) return
      woken[at]!++
    }
  }
  for (let at = 0; at < count; at++) {
    const wait = ends.wait({ taskId: 'task_1', userId: `user_${at}` }, { signal: undefined, isFollowing: true })
    void follow(wait, at)
  }
  return { woken, all: () => woken.reduce((sum, one) => sum + one, 0) }
}

test('frequent reports wake followers ten times a second, and again after the last', async () => {
  vi.useFakeTimers()
  const ends = new TaskEnds()
  const { woken } = startFollowers(ends, 20)
  for (let report = 0; report < 10_000; report++) {
    ends.taskChanged('task_1', 'progress')
    await vi.advanceTimersByTimeAsync(1)
  }
  expect(Math.max(...woken)).toBeLessThanOrEqual(101)
  expect(Math.min(...woken)).toBeGreaterThan(90)
  await vi.advanceTimersByTimeAsync(1000)
  const settled = [...woken]
  ends.taskChanged('task_1', 'progress')
  await vi.advanceTimersByTimeAsync(1000)
  expect(woken).toEqual(settled.map((count) => count + 1))
  ends.close()
})

test('a report wakes no follower synchronously, and each tick wakes a bounded number of followers', async () => {
  vi.useFakeTimers()
  const ends = new TaskEnds()
  const followers = 10 * wakesAtOnce
  const { all, woken } = startFollowers(ends, followers)
  for (let report = 0; report < 1000; report++) {
    ends.taskChanged('task_1', 'progress')
    await Promise.resolve()
  }
  expect(all()).toBe(0)
  let most = 0
  for (let before = 0; all() < followers; before = all()) {
    await vi.advanceTimersToNextTimerAsync()
    most = Math.max(most, all() - before)
  }
  expect(most).toBe(wakesAtOnce)
  expect(woken).toEqual(Array(followers).fill(1))
  ends.close()
})

test('a state change wakes followers immediately, even between rounds', async () => {
  vi.useFakeTimers()
  const ends = new TaskEnds()
  const { woken } = startFollowers(ends, 3)
  const tell = async (change: 'progress' | 'state') => {
    ends.taskChanged('task_1', change)
    await vi.advanceTimersByTimeAsync(0)
  }
  await tell('progress')
  await tell('progress')
  expect(woken).toEqual([1, 1, 1])
  await tell('state')
  expect(woken).toEqual([2, 2, 2])
  ends.close()
})
