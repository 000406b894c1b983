import { Box, Button, UnstyledButton } from '@mantine/core'
import { ChevronDownIcon, ChevronRightIcon } from '@radix-ui/react-icons'
import { useState } from 'react'
import { CopyButton } from './copy-button.tsx'
import classes from './json-tree.module.css'
import { countText } from './text/count-text.ts'

const childrenStep = 100
/** Nested lists longer than this are initially collapsed at any level. */
const openAtOnceMax = 30
const charsMax = 600

type JsonTreeProps = {
  value: unknown
  /** Name of the value, for example `the response`. */
  what: string
  openLevels?: number
}

/**
 * Explorable JSON. Levels can be expanded, long lists and strings are shown in parts, and a button copies everything.
 */
export function JsonTree({ value, what, openLevels = 2 }: JsonTreeProps) {
  return (
    <Box className={classes.tree} role="group" aria-label={what}>
      <Box className={classes.copy}>
        <CopyButton value={() => JSON.stringify(value, null, 2)} what={what} />
      </Box>
      <JsonNode value={value} name={undefined} openLevels={openLevels} />
    </Box>
  )
}

type NodeProps = { value: unknown; name: string | undefined; openLevels: number }

function JsonNode({ value, name, openLevels }: NodeProps) {
  if (typeof value === 'object' && value !== null)
    return <JsonBranch value={value} name={name} openLevels={openLevels} />
  return (
    <div className={classes.line}>
      <NodeName name={name} />
      {typeof value === 'string' ? <JsonText text={value} /> : <span className={classes.plain}>{String(value)}</span>}
    </div>
  )
}

function NodeName({ name }: { name: string | undefined }) {
  return name === undefined ? null : <span className={classes.name}>{name}: </span>
}

function JsonBranch({ value, name, openLevels }: NodeProps & { value: object }) {
  const isList = Array.isArray(value)
  const size = isList ? value.length : Object.keys(value).length
  const [isOpen, setOpen] = useState(openLevels > 0 && (name === undefined || size <= openAtOnceMax))
  const [shown, setShown] = useState(childrenStep)
  const entries: [string, unknown][] = isOpen ? Object.entries(value).slice(0, shown) : []
  const unit = isList ? 'item' : 'field'
  const summary = size === 0 ? (isList ? '[]' : '{}') : `${countText(size)} ${unit}${size === 1 ? '' : 's'}`
  if (size === 0) {
    return (
      <div className={classes.line}>
        <NodeName name={name} />
        <span className={classes.plain}>{summary}</span>
      </div>
    )
  }
  return (
    <div>
      <UnstyledButton className={classes.toggle} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? <ChevronDownIcon aria-hidden /> : <ChevronRightIcon aria-hidden />}
        <NodeName name={name} />
        <span className={classes.summary}>
          {isList ? '[…]' : '{…}'} {summary}
        </span>
      </UnstyledButton>
      {isOpen && (
        <ul className={classes.children}>
          {entries.map(([key, child]) => (
            <li key={key}>
              <JsonNode value={child} name={key} openLevels={openLevels - 1} />
            </li>
          ))}
        </ul>
      )}
      {isOpen && shown < size && (
        <Button size="compact-xs" variant="default" ml={20} onClick={() => setShown(shown + childrenStep)}>
          Show {Math.min(childrenStep, size - shown)} more of {size - shown}
        </Button>
      )}
    </div>
  )
}

function JsonText({ text }: { text: string }) {
  const [shown, setShown] = useState(charsMax)
  return (
    <span className={classes.text}>
      {JSON.stringify(text.slice(0, shown))}
      {shown < text.length && (
        <Button size="compact-xs" variant="default" ml={6} onClick={() => setShown(shown * 10)}>
          Show more of the {text.length} characters
        </Button>
      )}
    </span>
  )
}
