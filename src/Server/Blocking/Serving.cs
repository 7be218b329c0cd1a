using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Blocking;

/// <summary>What a blocked command is served with: one of its keys, somebody's session of the store, and where the
/// reply goes.</summary>
internal readonly ref struct Serving(BlockedCommand command, WaitPlace place, StoreSession store, ReplyWriter reply)
{
    /// <summary>On the command's database. Not the command's own session: its scratch lists are free, its keys held by
    /// nobody.</summary>
    public StoreSession Store => store;

    /// <summary>Takes the one reply, in the version of the client that waits; after <see cref="TryClaim"/>.</summary>
    public ReplyWriter Reply => reply;

    /// <summary>The number of the command's database.</summary>
    public int Database => place.Key.Number;

    /// <summary>The key that is looked at.</summary>
    public Key Key => new(place.Key.Bytes, place.Key.Hash);

    /// <summary>Its bytes; they stay put for as long as the command waits.</summary>
    public byte[] KeyBytes => place.Key.Bytes;

    /// <summary>Which one it is of those that the command was blocked on.</summary>
    public int KeyIndex => place.Index;

    /// <summary>Makes the caller the one who ends the wait. Last before the first change.</summary>
    /// <returns>False when somebody else has ended it.</returns>
    public bool TryClaim()
    {
        if (!command.TryClaim()) return false;
        reply.Output.Clear();
        reply.Version = command.Session.Version;
        reply.BeginReply();
        return true;
    }
}
