namespace Kv.Server.Execution;

/// <summary>Asks something of the arguments of a command.</summary>
internal delegate bool ArgumentTest(in CommandArguments args);
