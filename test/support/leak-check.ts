import { afterAll, afterEach, expect } from 'vitest'
import { openResources, removeFolders } from './resources.ts'

// Fails each test that leaves a server, a store or a process behind.
afterEach(() => {
  const left = [...openResources]
  openResources.clear()
  expect(left, 'everything that the test started was stopped').toEqual([])
})

afterAll(removeFolders)
