import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { ErrandClientError, newIdempotencyKey } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { accountKey, useAccount } from '../../app/use-account.ts'
import { pairsOf } from '../../parts/tags-field.tsx'
import { sizeText } from '../../parts/text/size-text.ts'
import { toFormPath } from '../../parts/schema-form/check-value.ts'
import { bytesOf, envelopeBytes } from '../../parts/schema-form/read-text-file.ts'
import { followTask } from './announce-task.ts'
import { noOptions, optionFields, toOptions, type RunOptionsDraft } from './run-options.tsx'
import type { ParamsForm } from './use-params-form.ts'

type Input = Parameters<typeof client.tasks.create>[0]

type RunOptions = {
  endpointId: string
  form: ParamsForm
  connectorIds: readonly string[]
  tags: Readonly<Record<string, string>>
}

export function useRun({ endpointId, form, connectorIds: first, tags }: RunOptions) {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const [connectorIds, setConnectorIds] = useState(first)
  const [options, setOptions] = useState<RunOptionsDraft>({ ...noOptions, tags: pairsOf(tags) })
  const [refusedAt, setRefusedAt] = useState(0)
  const intent = useRef({ body: '', key: '' })
  const bytesMax = useAccount().data?.maxBodyBytes
  const create = useMutation({
    mutationFn: (input: Input) => {
      // The same input keeps its key, so that a retry after a lost response is charged only once.
      const body = JSON.stringify(input)
      const bytes = bytesOf(input) + envelopeBytes
      if (bytesMax !== undefined && bytes > bytesMax) {
        throw new Error(`The input is ${sizeText(bytes)}, but the maximum is ${sizeText(bytesMax)}. Shorten it.`)
      }
      if (intent.current.body !== body) intent.current = { body, key: newIdempotencyKey() }
      return client.tasks.create(input, { idempotencyKey: intent.current.key })
    },
    onSuccess: ({ taskId }) => {
      form.forget()
      void queries.invalidateQueries({ queryKey: ['tasks'] })
      navigate(`/tasks/${encodeURIComponent(taskId)}`)
      void followTask(taskId)
    },
    onError: () => setRefusedAt(Date.now()),
    onSettled: () => void queries.invalidateQueries({ queryKey: accountKey }),
  })

  const details = create.error instanceof ErrandClientError ? create.error.details : []
  const problemsOf = (field: string) => details.filter(({ path }) => isOf(field, path)).map(({ message }) => message)

  return {
    connectorIds,
    setConnectorIds: (ids: string[]) => {
      setConnectorIds(ids)
      create.reset()
    },
    connectorProblem: problemsOf('connectorIds').join('. ') || undefined,
    options,
    setOptions: (next: RunOptionsDraft) => {
      setOptions(next)
      create.reset()
    },
    optionErrors: Object.fromEntries(
      optionFields
        .map((field) => [field, problemsOf(field).join('. ')] as const)
        .filter(([, problem]) => problem !== ''),
    ),
    isPending: create.isPending,
    /** The error, unless its details refer to form fields. */
    refusal: create.error && details.length === 0 ? { error: create.error, receivedAt: refusedAt } : undefined,
    /** Resolves with true if the task was created. Otherwise the form shows the problems. */
    start: async (): Promise<boolean> => {
      create.reset()
      const params = form.check()
      if (!params) return false
      try {
        await create.mutateAsync({
          endpointId,
          params,
          ...(connectorIds.length > 0 && { connectorIds: [...connectorIds] }),
          ...toOptions(options),
        })
        return true
      } catch (error) {
        const found = error instanceof ErrandClientError ? error.details : []
        form.setProblems(
          found
            .filter(({ path }) => !['connectorIds', ...optionFields].some((field) => isOf(field, path)))
            .map(({ path, message }) => ({ path: toFormPath(path), message })),
        )
        return false
      }
    },
  }
}

function isOf(field: string, path: string): boolean {
  return path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`)
}
