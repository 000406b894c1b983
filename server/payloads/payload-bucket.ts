export type PayloadBucket = {
  bucket: string
  endpoint?: string
  /** If omitted, the SDK reads the region from AWS_REGION or the AWS profile. */
  region?: string
  /** If omitted, the SDK reads the credentials from AWS_ variables, the AWS profile or the machine's role. */
  credentials?: { accessKeyId: string; secretAccessKey: string }
  /** Prefix of every object key: either empty or ending with a slash. */
  prefix: string
  /** Whether the bucket name is part of the URL path instead of the host name. */
  hasPathStyle: boolean
}
