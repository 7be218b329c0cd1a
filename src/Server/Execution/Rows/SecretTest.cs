namespace Kv.Server.Execution;

/// <summary>Whether an argument of a call is a secret, which no log shows.</summary>
internal delegate bool SecretTest(in CommandArguments args, int index);
