import { afterAll, afterEach, expect } from 'vitest'
import { openResources, removeFolders } from './resources.ts'

// A test that leaves a server, a store or a process behind fails, and only that test.
afterEach(() => {
  const left = [...openResources]
  openResources.clear()
  expect(left, 'everything that the test started was stopped').toEqual([])
})

afterAll(removeFolders)
