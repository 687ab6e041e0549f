// The part of Lambda's Node runtime that calls a handler: `node runtime.mjs <bundle>`. AWS's own client (aws-lambda-ric)
// compiles a native addon with cmake and libcurl on installation, which is too much to require for a benchmark;
// this one does the same calls over node:http with one connection that is kept alive.

import http from 'node:http';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

const require = createRequire(import.meta.url);
const [hostname, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(':');
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function call(method, path, body) {
  return new Promise((fulfil, reject) => {
    const options = { agent, hostname, port, method, path: `/2018-06-01/runtime/${path}` };
    if (body !== undefined) {
      options.headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    }
    const request = http.request(options, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => fulfil({ headers: response.headers, text: Buffer.concat(chunks).toString() }));
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}

function report(error) {
  const { name, message, stack } = error;
  return JSON.stringify({ errorType: name, errorMessage: message, stackTrace: stack.split('\n') });
}

function context({ headers }) {
  const deadline = Number(headers['lambda-runtime-deadline-ms']);
  return {
    awsRequestId: headers['lambda-runtime-aws-request-id'],
    invokedFunctionArn: headers['lambda-runtime-invoked-function-arn'],
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
}

async function load(bundle) {
  try {
    // As Lambda's runtime loads a CommonJS handler: import() would first parse the bundle for the names it exports.
    return require(resolve(bundle)).handler;
  } catch (error) {
    await call('POST', 'init/error', report(error));
    throw error;
  }
}

const handler = await load(process.argv[2]);
for (;;) {
  const next = await call('GET', 'invocation/next');
  const id = next.headers['lambda-runtime-aws-request-id'];
  process.env._X_AMZN_TRACE_ID = next.headers['lambda-runtime-trace-id'] ?? '';
  try {
    const answer = await handler(JSON.parse(next.text), context(next));
    await call('POST', `invocation/${id}/response`, JSON.stringify(answer));
  } catch (error) {
    await call('POST', `invocation/${id}/error`, report(error));
  }
}
