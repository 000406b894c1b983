export default {
  errand: {
    input: 'openapi.json',
    output: { target: 'orval/errand.ts', client: 'fetch', baseUrl: process.env.ERRAND_URL },
  },
}
