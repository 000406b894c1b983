import { Box, Collapse, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { ChevronDownIcon, ChevronRightIcon } from '@radix-ui/react-icons'
import { useId, type ReactNode } from 'react'
import classes from './disclosure.module.css'

type DisclosureProps = {
  label: string
  /** Distinguishes disclosures with the same label. */
  ariaLabel?: string
  /** Rendered only while the section is open. */
  children: () => ReactNode
  /** Keeps the section open, for example because it contains an error. */
  mustBeOpen?: boolean
}

/** Collapsible section for content that is rarely needed. */
export function Disclosure({ label, ariaLabel, children, mustBeOpen = false }: DisclosureProps) {
  const [isUnfolded, { toggle }] = useDisclosure()
  const isOpen = isUnfolded || mustBeOpen
  const id = useId()
  const Icon = isOpen ? ChevronDownIcon : ChevronRightIcon
  return (
    <Box>
      <UnstyledButton
        className={classes.disclosure}
        aria-expanded={isOpen}
        aria-controls={id}
        aria-label={ariaLabel}
        onClick={toggle}
      >
        <Icon aria-hidden />
        {label}
      </UnstyledButton>
      <Collapse in={isOpen} id={id} mt="xs">
        {isOpen && children()}
      </Collapse>
    </Box>
  )
}
