import { afterEach, expect } from 'vitest'
import { openResources } from './resources.ts'

// A test that leaves a server, a store or a process behind fails.
afterEach(() => {
  expect([...openResources], 'everything that the test started was stopped').toEqual([])
})
