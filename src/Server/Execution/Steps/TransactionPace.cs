namespace Kv.Server.Execution;

/// <summary>How many turns the commands of a transaction have.</summary>
internal enum TransactionPace : byte
{
    /// <summary>This one: each does all that there is to do.</summary>
    AtOnce,

    /// <summary>This one, and if that is not enough, later ones. A command that finds out that it takes long, before it
    /// has changed anything, is begun anew in those.</summary>
    FirstTurn,

    /// <summary>Some have passed: what takes long is done in steps, while the keys of all stay held.</summary>
    Steps,
}
