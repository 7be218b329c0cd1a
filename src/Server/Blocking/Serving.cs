using Kv.Protocol;
using Kv.Server.Effects;
using Kv.Server.Notifications;
using Kv.Server.Users;
using Kv.Storage;

namespace Kv.Server.Blocking;

/// <summary>What a blocked command is served with: one of its keys, a session of the store, and where the reply
/// goes.</summary>
internal ref struct Serving(BlockedCommand command, WaitPlace place, StoreSession store, ReplyWriter reply,
    CommandEvents events)
{
    /// <summary>The session of whoever serves, on the command's database. It holds no keys, and its scratch lists are
    /// free.</summary>
    public readonly StoreSession Store => store;

    /// <summary>Takes the one reply, in the version of the client that waits; after <see cref="TryClaim"/>.</summary>
    public readonly ReplyWriter Reply => reply;

    /// <summary>The number of the command's database.</summary>
    public readonly int Database => place.Key.Number;

    /// <summary>The key that may have something.</summary>
    public readonly Key Key => new(place.Key.Bytes, place.Key.Hash);

    /// <summary>The bytes of <see cref="Key"/>, which stay as long as the command waits.</summary>
    public readonly byte[] KeyBytes => place.Key.Bytes;

    /// <summary>Which of the command's keys <see cref="Key"/> is.</summary>
    public readonly int KeyIndex => place.Index;

    /// <summary>Names what serving is about to do to the keys that it changes, for those who subscribe to their
    /// events.</summary>
    public readonly void Arm(KeyEvent what)
    {
        if (events.IsAsked) events.Arm(what);
    }

    /// <summary>Tells subscribers what serving has done to a key of the command's database, which is still
    /// held.</summary>
    public readonly void Notify(KeyEvent what, ReadOnlySpan<byte> key)
    {
        if (events.IsAsked) events.Add(what, Database, key);
    }

    /// <summary>Whether the feed wants to know what serving does.</summary>
    public readonly bool IsFed => events.Effects.IsOn;

    /// <inheritdoc cref="Execution.CommandContext.Say(int)"/>
    public readonly EffectBytes Say(int words) => events.Effects.Say(Database, words);

    /// <inheritdoc cref="Execution.CommandContext.SayNothing"/>
    public readonly void SayNothing()
    {
        if (IsFed) events.Effects.SayNothing();
    }

    /// <summary>Whether the client may still have what it waits for; known once somebody has claimed it.</summary>
    public Verdict Verdict { get; private set; }

    /// <summary>Makes the caller the one who ends the wait. Called right before the first change.</summary>
    /// <returns>False when the wait has ended already, or the client's user has lost the right to the call: nothing may
    /// be changed then.</returns>
    public bool TryClaim()
    {
        if (!command.TryClaim()) return false;
        reply.Output.Clear();
        reply.Version = command.Session.Version;
        reply.BeginReply();
        Verdict = command.Call!.Judge();
        return Verdict.IsAllowed;
    }
}
