#include "discover/backend_hwloc_view.h"

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "discover/backend_hwloc.h"
#include "node/pci.h"

static const struct hwloc_pcidev_attr_s *pci_of(const struct hwloc_obj *obj)
{
    if (obj != NULL && obj->type == HWLOC_OBJ_PCI_DEVICE)
        return &obj->attr->pcidev;
    bool is_switch = obj != NULL && obj->type == HWLOC_OBJ_BRIDGE &&
                     obj->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
    return is_switch ? &obj->attr->bridge.upstream.pci : NULL;
}

static uint64_t address_of(const struct hwloc_pcidev_attr_s *pci)
{
    return pci == NULL ? PCI_NONE
                       : (uint64_t)pci->domain << 16 | (uint64_t)pci->bus << 8 |
                             (uint64_t)(pci->dev & 31) << 3 | (pci->func & 7);
}

/* Returns the switch above a device. Between a device and a switch's upstream port is a downstream
 * port of the switch, which is not an object of its own. Above the upstream port is a root port or
 * another switch's downstream port. */
static struct hwloc_obj *switch_above(struct hwloc_obj *obj)
{
    struct hwloc_obj *port = obj->parent, *above = port != NULL ? port->parent : NULL;
    return pci_of(port) != NULL && pci_of(above) != NULL ? above : NULL;
}

static bool add_device(struct hwloc_view *view, struct hwloc_obj *obj)
{
    const struct hwloc_pcidev_attr_s *pci = pci_of(obj);
    uint64_t address = address_of(pci);
    if (hwloc_view_find(view, address) != NULL)
        return true;
    struct hwloc_obj *above = switch_above(obj);
    if ((above != NULL && !add_device(view, above)) ||
        !grow_by_one(&view->pci, view->pci_count, sizeof *view->pci))
        return false;
    view->pci[view->pci_count++] = (struct hwloc_view_pci){
        address,        address_of(pci_of(above)), pci->class_id,    pci->vendor_id,
        pci->device_id, pci->subvendor_id,         pci->subdevice_id};
    return true;
}

static int number_of(struct hwloc_obj *obj, const char *key)
{
    const char *text = obj == NULL ? NULL : hwloc_obj_get_info_by_name(obj, key);
    bool is_number = text != NULL && *text != '\0' && strlen(text) < 6 &&
                     text[strspn(text, "0123456789")] == '\0';
    return is_number ? atoi(text) : -1;
}

static void read_cpus(hwloc_topology_t topology, struct hwloc_view *view)
{
    struct hwloc_obj *package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *vendor = package == NULL ? NULL : hwloc_obj_get_info_by_name(package, "CPUVendor");
    snprintf(view->vendor, sizeof view->vendor, "%s",
             vendor != NULL && strlen(vendor) < sizeof view->vendor ? vendor : "");
    view->family = number_of(package, "CPUFamilyNumber");
    view->model = number_of(package, "CPUModelNumber");
}

static bool read_view(hwloc_topology_t topology, struct hwloc_view *view)
{
    read_cpus(topology, view);
    for (struct hwloc_obj *core = NULL;
         (core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != NULL;) {
        if (!grow_by_one(&view->core, view->core_count, sizeof *view->core))
            return false;
        view->core[view->core_count++] = (unsigned)hwloc_bitmap_first(core->cpuset);
    }
    for (struct hwloc_obj *obj = NULL; (obj = hwloc_get_next_pcidev(topology, obj)) != NULL;)
        if (!add_device(view, obj))
            return false;
    return true;
}

enum berth_code backend_hwloc_view(const char *xml, const char *name, struct hwloc_view *ret_view,
                                   struct berth_err *err)
{
    hwloc_topology_t topology = NULL;
    struct hwloc_view view = {0};
    enum berth_code code = backend_hwloc_load(xml, name, NULL, &topology, err);
    if (code != BERTH_OK)
        return code;
    if (!read_view(topology, &view))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for the devices of this node");
    hwloc_topology_destroy(topology);
    if (code != BERTH_OK)
        hwloc_view_done(&view);
    else
        *ret_view = view;
    return code;
}

void hwloc_view_done(struct hwloc_view *view)
{
    free(view->core);
    free(view->pci);
    *view = (struct hwloc_view){0};
}

const struct hwloc_view_pci *hwloc_view_find(const struct hwloc_view *view, uint64_t pci)
{
    for (size_t i = 0; i < view->pci_count; i++)
        if (view->pci[i].pci == pci)
            return &view->pci[i];
    return NULL;
}
