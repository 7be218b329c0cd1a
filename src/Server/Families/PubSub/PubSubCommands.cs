using Kv.Server.Effects;
using Kv.Server.Execution;
using Kv.Server.Patterns;
using Kv.Server.PubSub;
using Kv.Server.Sessions;

namespace Kv.Server.Families;

/// <summary>Publish and subscribe: channels, patterns, and shard channels.</summary>
internal static class PubSubCommands
{
    /// <summary>Among more patterns a message is published in steps, in EXEC too.</summary>
    private const int PatternsAtOnceMax = StepBudget.OneTurnMax;

    internal static readonly Command[] Table =
    [
        new("PSUBSCRIBE", arity: -2, PSubscribe)
        {
            Usage = "pattern [pattern ...]",
            Summary = "Receives what is published to channels whose names fit the patterns.",
            Complexity = "O(N), N the patterns", Since = "2.0.0", Group = CommandGroup.PubSub,
            Flags = CommandFlags.PubSub | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale |
                CommandFlags.Sentinel | CommandFlags.OwnReplies | CommandFlags.ChangesSession,
        },
        new("PUBLISH", arity: 3, Publish)
        {
            Usage = "channel message",
            Summary = "Sends a message to everyone who subscribes to a channel.",
            Complexity = "O(N+M), N the subscribers of the channel, M all patterns", Since = "2.0.0",
            Group = CommandGroup.PubSub,
            Flags = CommandFlags.PubSub | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Fast |
                CommandFlags.MayReplicate | CommandFlags.Sentinel,
        },
        new("PUBSUB", arity: -2, handler: null)
        {
            Summary = "Tells who subscribes to what.",
            Complexity = "Depends on the subcommand.", Since = "2.8.0", Group = CommandGroup.PubSub,
            Subcommands =
            [
                new("CHANNELS", arity: -2, Channels)
                {
                    Usage = "[pattern]",
                    Summary = "Lists the channels that have subscribers, all or those that fit a pattern.",
                    Complexity = "O(N), N the channels", Since = "2.8.0", Group = CommandGroup.PubSub,
                    Flags = CommandFlags.PubSub | CommandFlags.Loading | CommandFlags.Stale,
                },
                HelpReply.Row("6.2.0", CommandGroup.PubSub),
                new("NUMPAT", arity: 2, NumPat)
                {
                    Summary = "Counts the patterns that have subscribers.",
                    Complexity = "O(1)", Since = "2.8.0", Group = CommandGroup.PubSub,
                    Flags = CommandFlags.PubSub | CommandFlags.Loading | CommandFlags.Stale,
                },
                new("NUMSUB", arity: -2, NumSub)
                {
                    Usage = "[channel [channel ...]]",
                    Summary = "Counts the subscribers of channels.",
                    Complexity = "O(N), N the channels named", Since = "2.8.0", Group = CommandGroup.PubSub,
                    Flags = CommandFlags.PubSub | CommandFlags.Loading | CommandFlags.Stale,
                },
                new("SHARDCHANNELS", arity: -2, ShardChannels)
                {
                    Usage = "[pattern]",
                    Summary = "Lists the shard channels that have subscribers, all or those that fit a pattern.",
                    Complexity = "O(N), N the shard channels", Since = "7.0.0", Group = CommandGroup.PubSub,
                    Flags = CommandFlags.PubSub | CommandFlags.Loading | CommandFlags.Stale,
                },
                new("SHARDNUMSUB", arity: -2, ShardNumSub)
                {
                    Usage = "[shardchannel [shardchannel ...]]",
                    Summary = "Counts the subscribers of shard channels.",
                    Complexity = "O(N), N the shard channels named", Since = "7.0.0", Group = CommandGroup.PubSub,
                    Flags = CommandFlags.PubSub | CommandFlags.Loading | CommandFlags.Stale,
                },
            ],
        },
        new("PUNSUBSCRIBE", arity: -1, PUnsubscribe)
        {
            Usage = "[pattern [pattern ...]]",
            Summary = "Ends subscriptions to patterns, those named or all.",
            Complexity = "O(N), N the patterns", Since = "2.0.0", Group = CommandGroup.PubSub,
            Flags = CommandFlags.PubSub | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale |
                CommandFlags.Sentinel | CommandFlags.OwnReplies | CommandFlags.ChangesSession,
        },
        new("SPUBLISH", arity: 3, SPublish)
        {
            Usage = "shardchannel message",
            Summary = "Sends a message to everyone who subscribes to a shard channel.",
            Complexity = "O(N), N the subscribers", Since = "7.0.0", Group = CommandGroup.PubSub,
            Flags = CommandFlags.PubSub | CommandFlags.Loading | CommandFlags.Stale |
                CommandFlags.Fast | CommandFlags.MayReplicate,
            Keys = [KeySpec.At(1, KeyAccess.NotKey)],
        },
        new("SSUBSCRIBE", arity: -2, SSubscribe)
        {
            Usage = "shardchannel [shardchannel ...]",
            Summary = "Receives what is published to shard channels.",
            Complexity = "O(N), N the shard channels", Since = "7.0.0", Group = CommandGroup.PubSub,
            Flags = CommandFlags.PubSub | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale |
                CommandFlags.OwnReplies | CommandFlags.ChangesSession,
            Keys = [KeySpec.Range(1, -1, 1, KeyAccess.NotKey)],
        },
        new("SUBSCRIBE", arity: -2, Subscribe)
        {
            Usage = "channel [channel ...]",
            Summary = "Receives what is published to channels.",
            Complexity = "O(N), N the channels", Since = "2.0.0", Group = CommandGroup.PubSub,
            Flags = CommandFlags.PubSub | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale |
                CommandFlags.Sentinel | CommandFlags.OwnReplies | CommandFlags.ChangesSession,
        },
        new("SUNSUBSCRIBE", arity: -1, SUnsubscribe)
        {
            Usage = "[shardchannel [shardchannel ...]]",
            Summary = "Ends subscriptions to shard channels, those named or all.",
            Complexity = "O(N), N the shard channels", Since = "7.0.0", Group = CommandGroup.PubSub,
            Flags = CommandFlags.PubSub | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale |
                CommandFlags.OwnReplies | CommandFlags.ChangesSession,
            Keys = [KeySpec.Range(1, -1, 1, KeyAccess.NotKey)],
        },
        new("UNSUBSCRIBE", arity: -1, Unsubscribe)
        {
            Usage = "[channel [channel ...]]",
            Summary = "Ends subscriptions to channels, those named or all.",
            Complexity = "O(N), N the channels", Since = "2.0.0", Group = CommandGroup.PubSub,
            Flags = CommandFlags.PubSub | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale |
                CommandFlags.Sentinel | CommandFlags.OwnReplies | CommandFlags.ChangesSession,
        },
    ];

    private static void PSubscribe(ref CommandContext context) => Subscribe(ref context, SubscriptionKind.Pattern);

    private static void SSubscribe(ref CommandContext context) =>
        Subscribe(ref context, SubscriptionKind.ShardChannel);

    private static void Subscribe(ref CommandContext context) => Subscribe(ref context, SubscriptionKind.Channel);

    private static void PUnsubscribe(ref CommandContext context) =>
        Unsubscribe(ref context, SubscriptionKind.Pattern);

    private static void SUnsubscribe(ref CommandContext context) =>
        Unsubscribe(ref context, SubscriptionKind.ShardChannel);

    private static void Unsubscribe(ref CommandContext context) =>
        Unsubscribe(ref context, SubscriptionKind.Channel);

    private static void Publish(ref CommandContext context)
    {
        var channel = context.Args.NextBytes();
        var message = context.Args.NextBytes();
        if (!context.Args.Finish(context.Reply)) return;
        // In the first turn of EXEC nothing is begun that might have to be begun anew.
        bool mayStop = context.MayStep && !context.IsBegunAnew;
        if (context.IsBegunAnew && context.Server.PubSub.PatternCount > PatternsAtOnceMax && context.TryPostpone())
            return;
        SayMessage(ref context, channel, message);
        var publishing = context.Server.PubSub.BeginPublish(channel, message);
        if (publishing.GoOn(channel, message, mayStop))
            context.Reply.WriteInteger(publishing.Receivers);
        else context.Continue(new PublishSteps(publishing, context.Args.Keep(context.Server.Store)));
    }

    private static void SPublish(ref CommandContext context)
    {
        var channel = context.Args.NextBytes();
        var message = context.Args.NextBytes();
        if (!context.Args.Finish(context.Reply)) return;
        SayMessage(ref context, channel, message);
        context.Reply.WriteInteger(context.Server.PubSub.PublishShard(channel, message));
    }

    /// <summary>Has replicas publish the same, after what its client has written before.</summary>
    private static void SayMessage(ref CommandContext context, ReadOnlySpan<byte> channel, ReadOnlySpan<byte> message)
    {
        if (!context.IsFed || !context.Server.Replicas.IsActive) return;
        var effect = context.Events.Effects.Say(EffectBytes.Message, 3);
        effect.Add(context.Args[0].Span);
        effect.Add(channel);
        effect.Add(message);
        effect.End();
        context.Events.Effects.Mark();
    }

    /// <summary>One confirmation a name, which are pushes and no replies: a client that subscribes gets nothing
    /// else.</summary>
    private static void Subscribe(ref CommandContext context, SubscriptionKind kind)
    {
        var session = context.Session;
        var set = session.Subscriptions ?? new SubscriptionSet();
        // Counted before anything changes; a name that is given twice, or had already, counts although it adds none.
        if ((long)set.Count + context.Args.Remaining > context.Server.Options.SubscriptionLimit
            && (long)set.Count + CountNew(ref context, set.Of(kind)) > context.Server.Options.SubscriptionLimit)
        {
            context.Fail("ERR too many subscriptions"u8);
            return;
        }

        for (int i = context.Args.Position; kind == SubscriptionKind.Pattern && i < context.Args.Count; i++)
        {
            if (context.Args[i].Span.Length <= GlobPattern.BytesMax) continue;
            context.Fail(Errors.PatternTooLong);
            return;
        }

        session.Subscriptions = set;
        PieceSteps<Subscriptions>.Run(ref context, new Subscriptions(kind));
    }

    private static int CountNew(ref CommandContext context, NameMap<Subscription> own)
    {
        int count = 0;
        for (int i = context.Args.Position; i < context.Args.Count; i++)
        {
            if (!own.Contains(context.Args[i].Span)) count++;
        }
        return count;
    }

    private static void Unsubscribe(ref CommandContext context, SubscriptionKind kind)
    {
        var session = context.Session;
        var set = session.Subscriptions ??= new SubscriptionSet();
        if (context.Args.Remaining > 0)
        {
            PieceSteps<Unsubscriptions>.Run(ref context, new Unsubscriptions(kind));
        }
        else if (set.Of(kind).Count > 0)
        {
            PieceSteps<UnsubscriptionsOfAll>.Run(ref context, new UnsubscriptionsOfAll(kind, set.Of(kind)));
        }
        else
        {
            context.Reply.WritePush(3);
            context.Reply.WriteBulk(EndVerbOf(kind));
            context.Reply.WriteNull();
            context.Reply.WriteInteger(CountToTell(kind, set));
            EndUnsubscribe(session);
        }
    }

    private static void EndUnsubscribe(Session session)
    {
        if (session.Subscriptions!.Count > 0) return;
        session.Subscriptions = null;
        if (session.Kind == ClientKind.PubSub) session.Kind = ClientKind.Normal;
    }

    /// <summary>SUBSCRIBE and its kin: a channel a piece.</summary>
    private readonly struct Subscriptions(SubscriptionKind kind) : IPieceWork
    {
        public static bool ReadsArguments => true;

        public bool Next(ref CommandContext context)
        {
            if (context.Args.Remaining == 0) return false;
            var session = context.Session;
            var name = context.Args.NextBytes();
            context.Server.PubSub.Subscribe(kind, name, session, session.Subscriptions!);
            if (session.Kind != ClientKind.PubSub) session.Kind = ClientKind.PubSub;
            Confirm(ref context, kind, VerbOf(kind), name, session.Subscriptions!);
            return true;
        }

        public void End(ref CommandContext context)
        {
            // Each name has its confirmation.
        }
    }

    /// <summary>UNSUBSCRIBE and its kin, of some channels.</summary>
    private readonly struct Unsubscriptions(SubscriptionKind kind) : IPieceWork
    {
        public static bool ReadsArguments => true;

        public bool Next(ref CommandContext context)
        {
            if (context.Args.Remaining == 0) return false;
            UnsubscribeOne(ref context, kind, context.Args.NextBytes());
            return true;
        }

        public void End(ref CommandContext context) => EndUnsubscribe(context.Session);
    }

    /// <summary>UNSUBSCRIBE and its kin, of all channels that the client has: it gets none meanwhile.</summary>
    private readonly struct UnsubscriptionsOfAll(SubscriptionKind kind, NameMap<Subscription> own) : IPieceWork
    {
        private readonly IEnumerator<KeyValuePair<byte[], Subscription>> _left = own.All.GetEnumerator();

        public static bool ReadsArguments => false;

        public bool Next(ref CommandContext context)
        {
            if (!_left.MoveNext()) return false;
            UnsubscribeOne(ref context, kind, _left.Current.Key);
            return true;
        }

        public void End(ref CommandContext context) => EndUnsubscribe(context.Session);
    }

    /// <summary>PUBSUB NUMSUB and SHARDNUMSUB: a channel a piece.</summary>
    private readonly struct SubscriberCounts(bool shard) : IPieceWork
    {
        public static bool ReadsArguments => true;

        public bool Next(ref CommandContext context)
        {
            if (context.Args.Remaining == 0) return false;
            var channel = context.Args.NextBytes();
            context.Reply.WriteBulk(channel);
            context.Reply.WriteInteger(context.Server.PubSub.SubscribersOf(channel, shard));
            return true;
        }

        public void End(ref CommandContext context)
        {
            // The array is whole.
        }
    }

    private static ReadOnlySpan<byte> VerbOf(SubscriptionKind kind) => kind switch
    {
        SubscriptionKind.Channel => "subscribe"u8,
        SubscriptionKind.Pattern => "psubscribe"u8,
        _ => "ssubscribe"u8,
    };

    private static ReadOnlySpan<byte> EndVerbOf(SubscriptionKind kind) => kind switch
    {
        SubscriptionKind.Channel => "unsubscribe"u8,
        SubscriptionKind.Pattern => "punsubscribe"u8,
        _ => "sunsubscribe"u8,
    };

    private static void UnsubscribeOne(ref CommandContext context, SubscriptionKind kind, ReadOnlySpan<byte> name)
    {
        var set = context.Session.Subscriptions!;
        // What was published before must come ahead of the confirmation: behind it a RESP2 client takes it for a reply.
        if (context.Server.PubSub.Unsubscribe(kind, name, set)) context.Session.WriteMessages(context.Reply);
        Confirm(ref context, kind, EndVerbOf(kind), name, set);
    }

    private static void Confirm(
        ref CommandContext context, SubscriptionKind kind, ReadOnlySpan<byte> verb, ReadOnlySpan<byte> name,
        SubscriptionSet set)
    {
        context.Reply.WritePush(3);
        context.Reply.WriteBulk(verb);
        context.Reply.WriteBulk(name);
        context.Reply.WriteInteger(CountToTell(kind, set));
    }

    // Channels and patterns are counted together, shard channels by themselves.
    private static int CountToTell(SubscriptionKind kind, SubscriptionSet set) =>
        kind == SubscriptionKind.ShardChannel ? set.ShardChannels.Count : set.PlainCount;

    private static void Channels(ref CommandContext context) => WriteChannels(ref context, shard: false);

    private static void ShardChannels(ref CommandContext context) => WriteChannels(ref context, shard: true);

    private static void WriteChannels(ref CommandContext context, bool shard)
    {
        if (HelpReply.RefusesMore(ref context, countMax: 3)) return;
        bool all = context.Args.Remaining == 0;
        var pattern = all ? default : context.Args.NextPattern();
        if (!context.Args.Finish(context.Reply)) return;

        ChannelList.Run(ref context, shard, all ? null : pattern.ToArray());
    }

    private static void NumPat(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        context.Reply.WriteInteger(context.Server.PubSub.PatternCount);
    }

    private static void NumSub(ref CommandContext context) => WriteCounts(ref context, shard: false);

    private static void ShardNumSub(ref CommandContext context) => WriteCounts(ref context, shard: true);

    private static void WriteCounts(ref CommandContext context, bool shard)
    {
        context.Reply.WriteArray(context.Args.Remaining * 2);
        PieceSteps<SubscriberCounts>.Run(ref context, new SubscriberCounts(shard));
    }
}
