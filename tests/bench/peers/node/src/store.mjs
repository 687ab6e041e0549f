// The table, through the bare client: its commands are bundled one by one, and items are read as they come.

import {
  BatchGetItemCommand,
  ConditionalCheckFailedException,
  DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { setTimeout } from 'node:timers/promises';

/** Requests that pass in a window. */
export const LIMIT = 18;
const WINDOW_MILLIS = 60_000;
const ROUNDS = 3;
const READ_ROUNDS = 4;
/** How long after its window a counter is kept, in seconds. */
const KEPT_SECONDS = 3_600;

const TableName = process.env.TABLE_NAME;
const CACHE_MILLIS = Number(process.env.CACHE_SECONDS) * 1_000;
// Connections are kept alive: that is the SDK's default.
const client = new DynamoDBClient({});

/** Counts a request of `address` at `now` (milliseconds since 1970). */
export async function hit(address, now) {
  for (let round = 0; round < ROUNDS; round += 1) {
    const found = (await count(address, now)) ?? (await openWindow(address, now));
    if (found) {
      return found;
    }
  }
  throw Object.assign(new Error('others kept opening windows'), { $retryable: {} });
}

/** Adds one to an open window that is not full; nothing where no window is open. */
async function count(address, now) {
  const command = new UpdateItemCommand({
    TableName,
    Key: key(`RATE#${address}`, 'RATE'),
    UpdateExpression: 'ADD hits :one',
    ConditionExpression: 'window_end > :now AND hits < :max',
    ExpressionAttributeValues: { ':one': number(1), ':now': number(now), ':max': number(LIMIT) },
    ReturnValues: 'ALL_NEW',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
  try {
    const { Attributes: window } = await client.send(command);
    return place(true, Number(window.hits.N), Number(window.window_end.N), now);
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) {
      throw error;
    }
    const end = Number(error.Item?.window_end.N);
    return end > now ? place(false, LIMIT, end, now) : undefined;
  }
}

/** Opens a window with this request in it; nothing if another request did so first. */
async function openWindow(address, now) {
  const end = now + WINDOW_MILLIS;
  const command = new UpdateItemCommand({
    TableName,
    Key: key(`RATE#${address}`, 'RATE'),
    UpdateExpression: 'SET hits = :one, window_end = :end, expires_at = :ttl',
    ConditionExpression: 'attribute_not_exists(pk) OR window_end <= :now',
    ExpressionAttributeValues: {
      ':one': number(1),
      ':end': number(end),
      ':now': number(now),
      ':ttl': number(Math.floor(end / 1_000) + KEPT_SECONDS),
    },
  });
  try {
    await client.send(command);
    return place(true, 1, end, now);
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) {
      throw error;
    }
    return undefined;
  }
}

function place(allowed, hits, end, now) {
  return {
    allowed,
    remaining: Math.max(0, LIMIT - hits),
    resetSeconds: Math.max(1, Math.ceil((end - now) / 1_000)),
  };
}

/** The order, and the user where there is one to read, strongly consistent. */
export async function orderAndUser(orderId, userId) {
  const keys = [key(`ORDER#${orderId}`, 'ORDER')];
  if (userId !== undefined) {
    keys.push(key(`USER#${userId}`, 'USER'));
  }
  const items = await batchGet(keys);
  const order = items.find((item) => item.sk.S === 'ORDER');
  const user = items.find((item) => item.sk.S === 'USER');
  return {
    order: order && {
      id: Number(order.id.N),
      internal_id: order.internal_id.S,
      price: Number(order.price.N),
      currency: order.currency.S,
      status: order.status.S,
      gateway: order.gateway.S,
      created_at: Number(order.created_at.N),
      owner: order.owner?.N,
    },
    user: user && { id: user.id.N, tokensValidAfter: Number(user.tokens_valid_after?.N ?? -Infinity) },
  };
}

async function batchGet(Keys) {
  const items = [];
  let wanted = { [TableName]: { Keys, ConsistentRead: true } };
  for (let round = 0; round < READ_ROUNDS; round += 1) {
    const { Responses, UnprocessedKeys } = await client.send(new BatchGetItemCommand({ RequestItems: wanted }));
    items.push(...(Responses?.[TableName] ?? []));
    if (!UnprocessedKeys?.[TableName]) {
      return items;
    }
    wanted = UnprocessedKeys;
    await setTimeout(20 << round);
  }
  throw Object.assign(new Error('keys stayed unprocessed'), { $retryable: {} });
}

let cached = { readAt: -Infinity };

/** Digits of the store's currency, read again once they are older than a few seconds. */
export async function digits() {
  if (performance.now() - cached.readAt >= CACHE_MILLIS) {
    const readAt = performance.now();
    const { Item: pointer } = await client.send(new GetItemCommand({ TableName, Key: key('STORE', 'POINTER') }));
    cached = { readAt, value: Number(pointer?.config.M.digits.N ?? 2) };
  }
  return cached.value;
}

/** Whether the same request may pass in a moment: throttled, timed out or away. */
export function isPassing(error) {
  return error.$retryable !== undefined || error.$metadata?.httpStatusCode === undefined || error.$fault === 'server';
}

function key(pk, sk) {
  return { pk: { S: pk }, sk: { S: sk } };
}

function number(value) {
  return { N: `${value}` };
}
