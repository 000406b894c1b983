import { afterAll, afterEach, expect } from 'vitest'
import { openResources, removeFolders } from './resources.ts'

// Fails each test that does not stop a server, a store or a process that it started.
afterEach(() => {
  const left = [...openResources]
  openResources.clear()
  expect(left, 'everything that the test started was stopped').toEqual([])
})

afterAll(removeFolders)
