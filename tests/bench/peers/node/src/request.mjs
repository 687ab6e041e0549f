// What the caller sent.

import { isIPv4, isIPv6 } from 'node:net';

const LARGEST_BODY = 16 * 1024;
const LONGEST_ID = 255;
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** The order's id, or what is wrong with the body. */
export function orderId({ body = '', isBase64Encoded }) {
  const bytes = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');
  if (bytes.length > LARGEST_BODY) {
    return { status: 413, fault: 'The request body must not be larger than 16 KiB.' };
  }
  let parsed;
  try {
    parsed = JSON.parse(UTF8.decode(bytes));
  } catch {
    return { fault: 'The request body must be valid JSON.' };
  }
  if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed)) {
    return { fault: 'The request body must be a JSON object.' };
  }
  const id = parsed.order_id;
  if (id === undefined || id === null) {
    return { fault: 'The order_id field is required.' };
  }
  if (typeof id !== 'string') {
    return { fault: 'The order_id field must be a string.' };
  }
  if (!id.isWellFormed()) {
    return { fault: 'The request body must be valid JSON.' };
  }
  // Characters, not UTF-16 units.
  if ([...id].length > LONGEST_ID) {
    return { fault: `The order_id field must not be longer than ${LONGEST_ID} characters.` };
  }
  return id.trim() === '' ? { fault: 'The order_id field is required.' } : { id };
}

/** The token after `Bearer`, if there is one. */
export function tokenOf(headers) {
  return /^\s*bearer\s+(.*\S)\s*$/i.exec(headers.authorization ?? '')?.[1];
}

/** The text under which a caller is counted: the address, an IPv6 one by its /64. */
export function countedAs(sourceIp) {
  if (isIPv4(sourceIp)) {
    return sourceIp;
  }
  if (!isIPv6(sourceIp)) {
    return 'unknown';
  }
  const [left, right] = canonical(sourceIp.split('%')[0]).split('::').map((side) => side.split(':').filter(Boolean));
  const groups = right ? [...left, ...Array(8 - left.length - right.length).fill('0'), ...right] : left;
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff') {
    const [high, low] = groups.slice(6).map((group) => parseInt(group, 16));
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  }
  return `${canonical(`${groups.slice(0, 4).join(':')}::`)}/64`;
}

function canonical(address) {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}
