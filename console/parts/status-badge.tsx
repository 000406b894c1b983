import { Badge } from '@mantine/core'
import {
  ChatBubbleIcon,
  CheckCircledIcon,
  ClockIcon,
  CrossCircledIcon,
  ExclamationTriangleIcon,
  MinusCircledIcon,
  QuestionMarkCircledIcon,
  UpdateIcon,
} from '@radix-ui/react-icons'
import type { ComponentType } from 'react'

const looks = {
  pending: { color: 'gray', Icon: ClockIcon, label: 'Queued' },
  processing: { color: 'blue', Icon: UpdateIcon, label: 'Running' },
  completed: { color: 'green', Icon: CheckCircledIcon, label: 'Completed' },
  failed: { color: 'red', Icon: CrossCircledIcon, label: 'Failed' },
  active: { color: 'green', Icon: CheckCircledIcon, label: 'Active' },
  open: { color: 'blue', Icon: ChatBubbleIcon, label: 'Active' },
  closed: { color: 'gray', Icon: CheckCircledIcon, label: 'Ended' },
  expired: { color: 'gray', Icon: MinusCircledIcon, label: 'Expired' },
  canceled: { color: 'gray', Icon: MinusCircledIcon, label: 'Canceled' },
  revoked: { color: 'gray', Icon: MinusCircledIcon, label: 'Revoked' },
  suspended: { color: 'red', Icon: CrossCircledIcon, label: 'Suspended' },
  blocked: { color: 'yellow', Icon: ExclamationTriangleIcon, label: 'Blocked' },
  untested: { color: 'gray', Icon: QuestionMarkCircledIcon, label: 'Not tested' },
  ok: { color: 'green', Icon: CheckCircledIcon, label: 'Working' },
  needs_sign_in: { color: 'yellow', Icon: ExclamationTriangleIcon, label: 'Sign-in required' },
  warning: { color: 'yellow', Icon: ExclamationTriangleIcon, label: 'Needs attention' },
  accepted: { color: 'green', Icon: CheckCircledIcon, label: 'Accepted' },
} as const

export type BadgeStatus = keyof typeof looks

export function StatusBadge({ status, label }: { status: BadgeStatus; label?: string }) {
  const look = looks[status]
  return <IconBadge {...look} label={label ?? look.label} />
}

type IconBadgeProps = { color: string; Icon: ComponentType<{ 'aria-hidden': true }>; label: string }

export function IconBadge({ color, Icon, label }: IconBadgeProps) {
  return (
    <Badge
      color={color}
      variant="light"
      tt="none"
      fw={500}
      size="lg"
      fz="sm"
      miw="max-content"
      leftSection={<Icon aria-hidden />}
    >
      {label}
    </Badge>
  )
}
