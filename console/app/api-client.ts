import { createClient } from '../../client/client.ts'

/**
 * The console's only client; the browser sends the login cookie. Does not retry: the query client does, and shows that
 * it waits.
 */
export const client = createClient({ baseUrl: location.origin, apiKey: null, maxRetries: 0 })
