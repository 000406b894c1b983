import { Alert, Code, Text } from '@mantine/core'
import { CrossCircledIcon, MinusCircledIcon } from '@radix-ui/react-icons'
import type { ReactNode } from 'react'
import type { Task } from '../../../client/client.ts'
import { messageText } from '../../parts/text/error-text.ts'
import { wholeRefundUsd } from './task-cost.tsx'
import { taskLook } from './task-state.ts'
import classes from './task.module.css'

/** Matches error details that are only a class name, which does not help the user. */
const className = /^[A-Z][\w$.]*$/

type TaskFailureProps = {
  task: Pick<Task, 'costUsd' | 'refundedUsd' | 'status'>
  error: NonNullable<Task['error']>
  title: string | undefined
  children?: ReactNode
}

/** The error of a task that failed, was canceled or expired, and the effect on its charge. */
export function TaskFailure({ children, error, task, title = 'The task failed' }: TaskFailureProps) {
  const { code, details, message } = error
  const hasFailed = taskLook(task.status, code) === 'failed'
  return (
    <Alert
      color={hasFailed ? 'red' : 'gray'}
      title={title}
      icon={hasFailed ? <CrossCircledIcon aria-hidden /> : <MinusCircledIcon aria-hidden />}
    >
      {hasFailed && <Text className={classes.inline}>{code === 'AGENT_ERROR' ? message : messageText(message)}</Text>}
      {details !== '' && details !== message && !className.test(details) && (
        <Text className={classes.inline} size="sm" mt={4}>
          Details: {details}
        </Text>
      )}
      {children}
      <Text size="sm" mt={6}>
        <Code>{code}</Code>{' '}
        {wholeRefundUsd(task) === undefined ? 'Nothing was charged.' : 'The charge was refunded in full.'}
      </Text>
    </Alert>
  )
}
