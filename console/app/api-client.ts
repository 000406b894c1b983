import { createClient } from '../../client/client.ts'

/**
 * The one client of the console; the browser sends the cookie of its login by itself. What is to be repeated the query
 * client knows, which shows that it waits.
 */
export const client = createClient({ baseUrl: location.origin, apiKey: null, maxRetries: 0 })
