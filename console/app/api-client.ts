import { createClient } from '../../client/client.ts'

/** The one client of the console; the browser sends the cookie of the login by itself. */
export const client = createClient({ baseUrl: location.origin, apiKey: null })
