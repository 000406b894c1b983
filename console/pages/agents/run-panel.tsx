import { Button, Group, SegmentedControl, Stack, Textarea } from '@mantine/core'
import { useDeferredValue, useRef, type KeyboardEvent, type ReactNode } from 'react'
import type { Agent } from '../../../client/client.ts'
import { useSecondsLeft } from '../../parts/hooks/use-seconds-left.ts'
import { Panel } from '../../parts/panel.tsx'
import { PageCode } from '../../parts/code/page-code.tsx'
import { ShortenedNote, Snippets } from '../../parts/code/snippets.tsx'
import classes from './agent.module.css'
import { ConnectorPicker } from './connector-picker.tsx'
import { chargedUsd, EventPrices } from './endpoint-price.tsx'
import { FieldControl } from '../../parts/schema-form/field-control.tsx'
import { RestProblems } from '../../parts/schema-form/rest-problems.tsx'
import { RunCost, RunObstacle } from './run-cost.tsx'
import { RunOptions, toOptions, type RunOptionsDraft } from './run-options.tsx'
import { RunRefusal } from './run-refusal.tsx'
import { shortened } from '../../parts/schema-form/shortened.ts'
import { useFreshAccount } from './use-fresh-account.ts'
import { useParamsForm } from './use-params-form.ts'
import { useRun } from './use-run.ts'
import { usdText } from '../../parts/text/usd-text.ts'

type RunPanelProps = {
  endpoint: Agent['endpoints'][number]
  /** Initial params. If undefined, the schema's defaults. */
  start: unknown
  connectorIds?: readonly string[]
  tags?: Readonly<Record<string, string>>
  draftName: string
  note?: ReactNode
}

export function RunPanel({ endpoint, start, connectorIds = [], tags = {}, draftName, note }: RunPanelProps) {
  const account = useFreshAccount()
  const blockedUntil = account.data?.blockedUntil
  const isBlocked = useSecondsLeft(blockedUntil ? Date.parse(blockedUntil) : undefined) > 0
  const form = useParamsForm({ schema: endpoint.params, start, draftName })
  const run = useRun({ endpointId: endpoint.id, form, connectorIds, tags })
  const element = useRef<HTMLFormElement>(null)

  const submit = () => {
    if (run.isPending || isBlocked) return
    void run.start().then((isTaken) => {
      // Wait until the errors are rendered.
      if (!isTaken) requestAnimationFrame(() => focusProblem(element.current))
    })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.defaultPrevented) return
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault()
      submit()
    }
    // Otherwise, pressing Enter in an input could spend money by accident.
    else if (event.target instanceof HTMLInputElement) event.preventDefault()
  }
  const price = chargedUsd(endpoint, run.options.maxCostUsd.trim())
  const isMetered = endpoint.pricing !== undefined
  return (
    <Stack gap="lg">
      <form
        ref={element}
        className={classes.form}
        noValidate
        aria-label={`Run ${endpoint.name}`}
        onKeyDown={onKeyDown}
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <Panel
          title={`Run ${endpoint.name}`}
          actions={
            <SegmentedControl
              size="xs"
              aria-label="Params format"
              data={[
                { value: 'form', label: 'Form' },
                { value: 'json', label: 'JSON' },
              ]}
              value={form.mode}
              onChange={(mode) => form.switchTo(mode === 'json' ? 'json' : 'form')}
            />
          }
        >
          {note}
          <Stack gap="md" maw={720}>
            {(endpoint.takesConnectors || connectorIds.length > 0) && (
              <ConnectorPicker value={run.connectorIds} onChange={run.setConnectorIds} error={run.connectorProblem} />
            )}
            {form.mode === 'json' ? (
              <Textarea
                label="Params"
                description="Enter a JSON object."
                value={form.json.text}
                error={form.json.problem}
                onChange={(event) => form.setJson(event.currentTarget.value)}
                rows={16}
                resize="vertical"
                spellCheck={false}
                autoComplete="off"
                classNames={{ input: classes.json ?? '' }}
              />
            ) : (
              <FieldControl
                key={form.version}
                field={form.field}
                value={form.value}
                onChange={form.setValue}
                path=""
                isRequired
                problems={form.problems.fields}
                Part={FieldControl}
              />
            )}
            <RunOptions
              value={run.options}
              onChange={run.setOptions}
              errors={run.optionErrors}
              timeoutSeconds={endpoint.timeoutSeconds}
            />
            <RestProblems title="Invalid params" problems={form.problems.rest} />
            {endpoint.pricing && <EventPrices pricing={endpoint.pricing} />}
            {run.refusal ? (
              <RunRefusal {...run.refusal} />
            ) : (
              <RunObstacle account={account.data} isBlocked={isBlocked} priceUsd={price} />
            )}
          </Stack>
          <div className={classes.run}>
            <RunCost account={account.data} priceUsd={price} isMetered={isMetered} />
            <Group gap="xs">
              {(form.isChanged || form.undo) && (
                // A single button for both actions, so that it keeps focus when the action changes.
                <Button variant="subtle" color="gray" disabled={run.isPending} onClick={form.undo ?? form.clear}>
                  {form.undo ? 'Undo' : start === undefined ? 'Clear' : 'Undo changes'}
                </Button>
              )}
              {form.fillSample && (
                <Button variant="default" disabled={run.isPending} onClick={form.fillSample}>
                  Try a sample
                </Button>
              )}
              <Button type="submit" loading={run.isPending} disabled={isBlocked}>
                {/[1-9]/.test(price) ? `Run for ${isMetered ? 'up to ' : ''}${usdText(price)}` : 'Run for free'}
              </Button>
            </Group>
          </div>
        </Panel>
      </form>
      <RunSnippets
        endpointId={endpoint.id}
        params={form.params}
        connectorIds={run.connectorIds}
        options={run.options}
      />
    </Stack>
  )
}

function focusProblem(form: HTMLFormElement | null): void {
  form?.querySelector<HTMLElement>(':is(input, textarea)[aria-invalid="true"]')?.focus()
}

type RunSnippetsProps = {
  endpointId: string
  params: unknown
  connectorIds: readonly string[]
  options: RunOptionsDraft
}

function RunSnippets({ endpointId, params, connectorIds, options }: RunSnippetsProps) {
  const deferred = useDeferredValue(params)
  const { value, isShortened } = shortened(deferred)
  const input = { endpointId, params: value, ...(connectorIds.length > 0 && { connectorIds }), ...toOptions(options) }
  return (
    <PageCode>
      {isShortened && <ShortenedNote />}
      <Snippets
        request={{ method: 'POST', path: '/api/tasks', body: input }}
        call={{ method: 'tasks.run', input, result: 'task' }}
      />
    </PageCode>
  )
}
