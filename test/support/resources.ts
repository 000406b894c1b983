/** Names of what tests have started and not yet stopped. */
export const openResources = new Set<string>()
