using Kv.Server.Blocking;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>BLPOP, BLMPOP, BZPOPMIN or one of their kin that waits.</summary>
internal sealed class BlockedPop(Session session, PopRule rule) : BlockedCommand(session)
{
    protected internal override bool TryServe(ref Serving serving)
    {
        using var held = serving.Store.Hold(serving.Key, rule.Type);
        if (held.Status != StoreStatus.Ok || !serving.TryClaim()) return false;
        serving.Arm(rule.Event);
        if (serving.IsFed) rule.Say(serving.Say(rule.WordsSaid), serving.KeyBytes);
        rule.Take(serving.Reply, serving.KeyBytes, held.Value);
        return true;
    }
}
