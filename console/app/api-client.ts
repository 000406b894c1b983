import { createClient } from '../../client/client.ts'
import { serviceUrl } from './service-url.ts'

/**
 * The console's only client. The browser sends the login cookie. The client does not retry, because the query client
 * retries and shows that it is waiting.
 */
export const client = createClient({ baseUrl: serviceUrl, apiKey: null, maxRetries: 0 })
