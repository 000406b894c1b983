import type { Adapter, AdapterPayload } from 'oidc-provider'

/** Creates in-memory storage for the test provider, whose own in-memory adapter warns at every start. */
export function createProviderMemory(): (model: string) => Adapter {
  const kept = new Map<string, AdapterPayload>()
  return (model) => {
    const keyOf = (id: string) => `${model} ${id}`
    const find = (id: string) => Promise.resolve(kept.get(keyOf(id)))
    const findBy = (field: 'uid' | 'userCode', value: string) =>
      Promise.resolve([...kept].find(([key, item]) => key.startsWith(`${model} `) && item[field] === value)?.[1])
    return {
      find,
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: (code) => findBy('userCode', code),
      async upsert(id, payload) {
        kept.set(keyOf(id), payload)
      },
      async consume(id) {
        const item = kept.get(keyOf(id))
        if (item) item['consumed'] = Math.floor(Date.now() / 1000)
      },
      async destroy(id) {
        kept.delete(keyOf(id))
      },
      async revokeByGrantId(grantId) {
        for (const [key, item] of kept) if (item.grantId === grantId) kept.delete(key)
      },
    }
  }
}
